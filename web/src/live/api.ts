// Requests to the server of the page.

import type { Capture, Changed, Direction, Profile, Running, Status } from "./state";

/** Longest time to wait for an answer, in milliseconds. */
const PATIENCE = 5000;

/** A request that failed, with a text for the reader. */
export class Refused extends Error {
  /** Status of the answer; 0 if there was none. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Directions that a change applies to. */
export type Chosen = Direction | "both";

type Fetch = (address: string, options: RequestInit) => Promise<Response>;

/** The server, asked with `token`. */
export class Api {
  readonly #token: string;
  readonly #base: string;
  readonly #fetch: Fetch;

  constructor(token: string, base = "", by: Fetch = (address, options) => fetch(address, options)) {
    this.#token = token;
    this.#base = base;
    this.#fetch = by;
  }

  links(): Promise<Running[]> {
    return this.#json("/api/links");
  }

  status(id: string): Promise<Status> {
    return this.#json(link(id));
  }

  /** Changes the link; returns the new parameters of the changed directions. */
  async set(id: string, direction: Chosen, parameters: string): Promise<Changed[]> {
    const { now } = await this.#json<{ now: Changed[] }>(`${link(id)}/set`, { direction, parameters });
    return now;
  }

  profiles(): Promise<Profile[]> {
    return this.#json("/api/profiles");
  }

  capture(id: string): Promise<Capture> {
    return this.#json(`${link(id)}/capture`);
  }

  record(id: string, record: boolean): Promise<Capture> {
    return this.#json(`${link(id)}/capture`, { record });
  }

  async captured(id: string): Promise<Blob> {
    return (await this.#ask(`${link(id)}/capture/file`, undefined, null)).blob();
  }

  /** Addresses under which another device reaches the page. */
  addresses(): Promise<string[]> {
    return this.#json("/api/addresses");
  }

  async #json<Answer>(path: string, body?: object): Promise<Answer> {
    const answer = await this.#ask(path, body, PATIENCE);
    return (await answer.json()) as Answer;
  }

  async #ask(path: string, body: object | undefined, patience: number | null): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const options: RequestInit = { headers, cache: "no-store" };
    if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    if (patience !== null) options.signal = AbortSignal.timeout(patience);
    let answer;
    try {
      answer = await this.#fetch(this.#base + path, options);
    } catch {
      throw new Refused(0, "the server does not answer");
    }
    if (answer.ok) return answer;
    throw new Refused(answer.status, await why(answer));
  }
}

function link(id: string): string {
  return `/api/links/${encodeURIComponent(id)}`;
}

/** The reason in an answer, which may come from something else than this server. */
async function why(answer: Response): Promise<string> {
  try {
    const { error } = (await answer.json()) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not JSON: the status has to do.
  }
  return `the server answered ${answer.status} ${answer.statusText}`.trim();
}

/** The text of an error for the reader. */
export function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
