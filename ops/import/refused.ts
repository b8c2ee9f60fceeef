/** The import cannot be done, or not go on; the message is for the person at the terminal. */
export class ImportRefused extends Error {
  override readonly name = "ImportRefused";
}
