/** Which rows of a list in Postgres are wanted: newest first, after the last one shown. */
export interface ListPage {
  readonly rowsMax: number;
  /** Null: from the newest on. Times in these tables have no more than milliseconds. */
  readonly after: { readonly createdAt: Date; readonly id: string } | null;
}
