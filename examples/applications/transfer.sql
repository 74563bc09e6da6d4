\set account random(1, 1000)
\set amount random(-500, 500)
begin;
select balance from account where id = :account;
update account set balance = balance + :amount where id = :account;
insert into history (account, amount) values (:account, :amount);
commit;
