// The fragment of the page's address: the token, and which link to show. Pure.

export interface Fragment {
  /** Token of the page, which every request carries. */
  token: string;
  /** ID of the link to show; `null` for any. */
  link: string | null;
}

/** Reads a fragment such as `#token=abc&link=2`. */
export function read(fragment: string): Fragment {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  return { token: parts.get("token") ?? "", link: parts.get("link") };
}

/** Writes it. */
export function written({ token, link }: Fragment): string {
  const parts = new URLSearchParams({ token, ...(link !== null && { link }) });
  return `#${parts}`;
}
