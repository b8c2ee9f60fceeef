/** Whether the navigation is shown where the window has no room for it beside the screen. */
import { signal } from "@preact/signals";

export const isSideOpen = signal(false);
