// Records the packets of the link, and saves the capture.

import { h, save } from "../dom";
import { quantity } from "../units";
import type { Api } from "./api";
import { write } from "./chart";
import { resultOf } from "./controls";
import type { Capture } from "./state";

/** Time between two looks at the size of a capture, in milliseconds. */
const EVERY = 1000;

export interface RecorderButton {
  element: HTMLElement;
  /** Asks for the capture if it is time. Never fails. */
  look(link: string): Promise<void>;
  /** Says whether there is a link to record. */
  allow(is: boolean): void;
}

export function recorderButton(api: Api, shown: () => string | null): RecorderButton {
  const result = resultOf();
  let [of, asked, recording] = ["", Number.NEGATIVE_INFINITY, false];
  const size = h("span", { class: "hint" });
  const button = h("button", { type: "button", "aria-pressed": "false", onclick: () => void switched() }, "Record packets");
  const file = h("button", { type: "button", hidden: true, onclick: () => void saved() }, "Save the capture");
  let name = "";
  const show = (capture: Capture, now: boolean) => {
    recording = capture.recording ?? now;
    name = capture.file ?? "";
    write(button, recording ? "Stop recording" : "Record packets");
    button.setAttribute("aria-pressed", String(recording));
    file.hidden = capture.file === null;
    write(size, capture.file === null ? "" : `${capture.file}, ${quantity(capture.bytes, "bytes")}`);
  };
  const switched = () =>
    result.run(async () => {
      const [link, wanted] = [shown(), !recording];
      if (link === null) throw new Error("no link is shown");
      show(await api.record(link, wanted), wanted);
      return "";
    });
  const saved = () =>
    result.run(async () => {
      const link = shown();
      if (link === null) throw new Error("the link has ended");
      const address = URL.createObjectURL(await api.captured(link));
      save(name, address);
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      return "";
    });
  const look = async (link: string) => {
    const isOther = link !== of;
    if (!isOther && (!recording || performance.now() - asked < EVERY)) return;
    [of, asked] = [link, performance.now()];
    try {
      const capture = await api.capture(link);
      // A capture that another page started, or the command line, goes on.
      show(capture, isOther ? capture.file !== null : recording);
    } catch {
      // A server without captures says so when somebody wants one.
    }
  };
  const allow = (is: boolean) => {
    button.disabled = file.disabled = !is;
  };
  return { element: h("div", { class: "row" }, button, file, size, result.element), look, allow };
}
