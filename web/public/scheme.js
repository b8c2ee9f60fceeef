/* The colour scheme that was chosen (web/shell/scheme.ts); without a choice the system decides. */
try {
  const chosen = localStorage.getItem("scheme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.scheme = chosen;
} catch {
  /* Storage is off: the system decides. */
}
