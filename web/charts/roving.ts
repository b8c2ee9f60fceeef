/**
 * Arrow keys in a chart: one of its columns takes part in the order of Tab, the arrows go from one
 * to the next, Home and End to the first and the last.
 */
export function moveFocus(event: KeyboardEvent): void {
  const { currentTarget, target, key } = event;
  if (!(currentTarget instanceof Element) || !(target instanceof Element)) return;
  const links = [...currentTarget.querySelectorAll<SVGElement>("[data-column]")];
  const from = links.findIndex((link) => link === target);
  if (from < 0) return;
  const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: links.length - 1 }[key];
  if (to === undefined) return;
  event.preventDefault();
  const next = links[Math.max(0, Math.min(links.length - 1, to))];
  links[from]?.setAttribute("tabindex", "-1");
  next?.setAttribute("tabindex", "0");
  next?.focus();
}
