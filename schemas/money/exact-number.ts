/** A JSON number a double cannot hold exactly, kept as it was written. */
export class ExactNumber {
  /** @param text the JSON token, e.g. `9007199254740993` or `1e400` */
  constructor(readonly text: string) {}
}
