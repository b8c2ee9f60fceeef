/** A text that is cut (`text-overflow: ellipsis`) says all of itself where the pointer rests. */
export function tellWhole({ target }: Event): void {
  if (!(target instanceof HTMLElement)) return;
  // A title that somebody wrote stays.
  if (target.title !== "" && target.dataset.whole === undefined) return;
  const isCut = target.scrollWidth > target.clientWidth;
  if (isCut && getComputedStyle(target).textOverflow === "ellipsis") {
    target.title = target.textContent;
    target.dataset.whole = "";
  } else if (target.dataset.whole !== undefined) {
    target.removeAttribute("title");
    delete target.dataset.whole;
  }
}
