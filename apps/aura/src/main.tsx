// The page begins here.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./components/App";
import { followPush } from "./hooks/push";
import { applySettings } from "./hooks/settings";
import { start } from "./hooks/wiring";
import "./page.css";

applySettings();
void start();
followPush();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
