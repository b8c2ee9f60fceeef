/** The dashboard. Where to read on: app.tsx has the screens, README.md says how to add one. */
import { render } from "preact";
import { App } from "./app.js";

const root = document.getElementById("app");
if (root !== null) {
  // What stands there until now would stay beside a screen whose code is still on its way.
  root.replaceChildren();
  render(<App />, root);
}
