// Builds the pages into crates/report/assets: one script and one style sheet each, which Rust puts
// into every page. `vite build` builds the report, `vite build --mode layers` the multi-layer view,
// `vite build --mode live` the live page of a link.
import { defineConfig } from "vite";
import { stamp } from "./stamp.ts";

const PAGES = { report: "src/main.ts", layers: "src/layers/main.ts", live: "src/live/main.ts" };

/** The page of a mode of vite. */
function page(mode: string): keyof typeof PAGES {
  return mode === "layers" || mode === "live" ? mode : "report";
}

export default defineConfig(({ mode }) => {
  const name = page(mode);
  return {
    build: {
      outDir: "../crates/report/assets",
      emptyOutDir: false,
      target: "es2022",
      cssCodeSplit: false,
      lib: { entry: PAGES[name], formats: ["iife"], name, fileName: () => `${name}.js`, cssFileName: name },
    },
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [stamp()],
  };
});
