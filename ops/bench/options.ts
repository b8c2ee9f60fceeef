/** What a person may choose on the command line; every one has a maximum there. */
export interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly events: number;
  readonly rows: number;
  readonly rate: number;
  /** Null: no CPU profiles. */
  readonly profileFolder: string | null;
}
