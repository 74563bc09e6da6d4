// Builds the pages into crates/report/assets: one script and one style sheet each, which Rust puts
// into every file. `vite build` builds the report, `vite build --mode layers` the multi-layer view.
import { defineConfig } from "vite";
import { stamp } from "./stamp.ts";

const PAGES = { report: "src/main.ts", layers: "src/layers/main.ts" };

export default defineConfig(({ mode }) => {
  const name = mode === "layers" ? "layers" : "report";
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
