// Writes into the built script what it was built from, so that a test of crates/report can tell
// whether it is stale: the SHA-256 over the lock file, the configuration and every file of src,
// each as its path, its length and its bytes, in the order of the paths.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Files that the built script depends on, as paths with slashes, in order. */
function sources(root: string): string[] {
  const inside = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1).replaceAll("\\", "/"));
  const files = [...inside, "package-lock.json", "stamp.ts", "vite.config.ts"];
  return files.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

/** The hash over all of them. */
export function digest(root: string): string {
  const hash = createHash("sha256");
  for (const path of sources(root)) {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\n${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

/** The plugin that leaves it in the first line of the script. */
export function stamp(): Plugin {
  return {
    name: "stamp",
    generateBundle(_options, bundle) {
      for (const part of Object.values(bundle)) {
        if (part.type === "chunk") {
          // The text of the page is inside an element of script: nothing in it may end that
          // element.
          part.code = `/*! source ${digest(import.meta.dirname)} */\n${part.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--")}`;
        }
      }
    },
  };
}
