// Creates elements in one expression. Text becomes text nodes, so no text of a campaign is ever
// parsed as markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | EventListener>;

/** Creates an element with attributes (`on…` adds a listener, `false` omits it) and children. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value !== false) element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Creates an SVG element in the same way. */
export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | number> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Lets the reader save `text` as a file. */
export function download(name: string, type: string, text: string): void {
  save(name, `data:${type};charset=utf-8,${encodeURIComponent(text)}`);
}

/** Lets the reader save what is at `address` as a file. */
export function save(name: string, address: string): void {
  h("a", { href: address, download: name }).click();
}
