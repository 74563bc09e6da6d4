// Asks again and again, one request at a time. Pure but for the timer.

export class Poll {
  readonly #ask: () => Promise<void>;
  readonly #pause: () => number;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #asking = false;
  #again = false;
  #stopped = false;
  #waiting: (() => void)[] = [];

  /** Calls `ask`, and again `pause()` milliseconds after it has finished. `ask` must not fail. */
  constructor(ask: () => Promise<void>, pause: () => number) {
    this.#ask = ask;
    this.#pause = pause;
    void this.#round();
  }

  /**
   * Asks now instead of after the pause; fulfilled when an answer to a request from now on is
   * there.
   */
  refresh(): Promise<void> {
    const done = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#asking) this.#again = true;
    else void this.#round();
    return done;
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #round(): Promise<void> {
    if (this.#stopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const waiting = this.#waiting.splice(0);
    this.#asking = true;
    this.#again = false;
    await this.#ask();
    this.#asking = false;
    for (const resolve of waiting) resolve();
    if (this.#again) void this.#round();
    else if (!this.#stopped) this.#timer = setTimeout(() => void this.#round(), this.#pause());
  }
}
