// The build of the page, and a development server that forwards the API to a running `agentx serve`.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.AGENTX_URL ?? "http://127.0.0.1:5200";

/** Requests of the development page look like those of the server's own page. */
const forwarded = { target: server, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The server names each file, so the names stay; a stamp tells a browser which ones it has.
    rolldownOptions: {
      output: {
        entryFileNames: "assets/app.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: { proxy: { "/v1": { ...forwarded, ws: true } } },
  preview: { proxy: { "/v1": { ...forwarded, ws: true } } },
  // No test is about time: a busy machine may be slow.
  test: { include: ["tests/**/*.test.{ts,tsx}"], environment: "node", testTimeout: 60_000 },
});
