/** Views that were saved in the workspace. */
export function SavedViews() {
  return null;
}
