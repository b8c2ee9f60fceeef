/** What is sent to people outside of the dashboard, by whichever channel. */
export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** A POST there ends these messages (RFC 8058); only e-mail says so. */
  readonly unsubscribeUrl?: string;
}

/** The channel did not take it: a sentence for a person, without secrets. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";
}
