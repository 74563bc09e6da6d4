// Which link the page shows, and what it asks the server for, one request after the other. Pure but
// for the requests.

import { type Api, Refused } from "./api";
import type { Running, Status } from "./state";

/** Time between two looks at the list of links while one is shown, in milliseconds. */
const LIST_EVERY = 2000;

/** Why no state comes, if none does. */
export type Trouble =
  | { kind: "none" }
  /** No link runs yet, or several do and none is chosen. */
  | { kind: "waiting" }
  | { kind: "ended"; id: string }
  | { kind: "unreachable" }
  | { kind: "token" }
  | { kind: "error"; message: string };

export interface View {
  links: readonly Running[];
  /** ID of the link that is shown. */
  shown: string | null;
  trouble: Trouble;
}

/**
 * The link to show. The wanted one, if it runs. Without one, the first. When a link has ended,
 * `before` has the IDs that ran then; one that started later is shown instead of it.
 */
export function choose(links: readonly Running[], wanted: string | null, before: ReadonlySet<string> | null): string | null {
  const ids = links.map(({ id }) => id);
  if (wanted !== null && ids.includes(wanted)) return wanted;
  if (before !== null) return ids.find((id) => !before.has(id)) ?? null;
  return wanted === null ? (ids[0] ?? null) : null;
}

/** Follows links; `got` receives each state, `changed` each other list of links or trouble. */
export class Follower {
  readonly #api: Pick<Api, "links" | "status">;
  readonly #got: (status: Status) => void;
  readonly #changed: (view: View) => void;
  readonly #now: () => number;
  #wanted: string | null;
  #view: View = { links: [], shown: null, trouble: { kind: "waiting" } };
  #listed = Number.NEGATIVE_INFINITY;
  /** IDs of the links that ran when the shown one ended. */
  #before: Set<string> | null = null;

  constructor(api: Pick<Api, "links" | "status">, wanted: string | null, got: (status: Status) => void, changed: (view: View) => void, now = () => performance.now()) {
    this.#api = api;
    this.#wanted = wanted;
    this.#got = got;
    this.#changed = changed;
    this.#now = now;
  }

  get view(): View {
    return this.#view;
  }

  /** Asks for all that is due; never fails. */
  async look(): Promise<void> {
    try {
      if (this.#view.shown === null || this.#now() - this.#listed >= LIST_EVERY) await this.#list();
      if (this.#view.shown !== null) await this.#status(this.#view.shown);
    } catch (error) {
      this.#show({ trouble: trouble(error) });
    }
  }

  async #list(): Promise<void> {
    const links = await this.#api.links();
    this.#listed = this.#now();
    const { shown, trouble } = this.#view;
    if (shown !== null) return this.#show({ links });
    const chosen = choose(links, this.#wanted, this.#before);
    if (chosen === null) return this.#show({ links, trouble: trouble.kind === "ended" ? trouble : { kind: "waiting" } });
    this.#before = null;
    this.#show({ links, shown: chosen });
  }

  async #status(id: string): Promise<void> {
    let status;
    try {
      status = await this.#api.status(id);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      const links = this.#view.links.filter((link) => link.id !== id);
      this.#before = new Set(links.map((link) => link.id));
      this.#wanted ??= id;
      return this.#show({ links, shown: null, trouble: { kind: "ended", id } });
    }
    this.#got(status);
    this.#show({ trouble: { kind: "none" } });
  }

  #show(part: Partial<View>): void {
    const next = { ...this.#view, ...part };
    const isNew = JSON.stringify([ids(next), next.shown, next.trouble]) !== JSON.stringify([ids(this.#view), this.#view.shown, this.#view.trouble]);
    this.#view = next;
    if (isNew) this.#changed(next);
  }
}

function ids({ links }: View): string[] {
  return links.map(({ id, command }) => `${id} ${command}`);
}

function trouble(error: unknown): Trouble {
  if (!(error instanceof Refused)) return { kind: "error", message: String(error) };
  if (error.status === 0) return { kind: "unreachable" };
  return error.status === 401 ? { kind: "token" } : { kind: "error", message: error.message };
}
