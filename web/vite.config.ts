// Builds the page into crates/report/assets: one script and one style sheet, which Rust puts into every report.
import { defineConfig } from "vite";
import { stamp } from "./stamp.ts";

export default defineConfig({
  build: {
    outDir: "../crates/report/assets",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "report", fileName: () => "report.js", cssFileName: "report" },
  },
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [stamp()],
});
