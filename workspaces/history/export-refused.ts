/** It is no such file; the message is for a person. */
export class ExportRefused extends Error {
  override readonly name = "ExportRefused";
}
