// QR codes by which another device opens the page.

import { h } from "../dom";
import { written } from "./address";
import { type Api, said } from "./api";
import { drawing } from "./qr";

/** A part that asks for the addresses when it is opened. */
export function otherDevices(api: Api, token: string): HTMLElement {
  const codes = h("div", { class: "row codes" });
  const ask = async () => {
    try {
      const addresses = await api.addresses();
      if (addresses.length === 0) {
        codes.replaceChildren(h("p", {}, "The server listens on the loopback interface only, so that no other device reaches it."));
        return;
      }
      const one = (address: string) => {
        const full = address + written({ token, link: null });
        return h("figure", {}, drawing(full, `QR code of ${address}`), h("figcaption", {}, h("a", { href: full }, address)));
      };
      codes.replaceChildren(...addresses.map(one));
    } catch (error) {
      codes.replaceChildren(h("p", { class: "error" }, said(error)));
    }
  };
  const part = h("details", { id: "devices" }, h("summary", {}, "Open on another device"), h("p", { class: "hint" }, "The code contains the token: whoever reads it can change the link."), codes);
  part.addEventListener("toggle", () => part.open && void ask());
  return part;
}
