/** What is sent to people outside of the dashboard, by any channel. */
export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** A POST there ends these messages (RFC 8058); only in e-mail. */
  readonly unsubscribeUrl?: string;
}

/** The channel did not accept it; the message is a sentence for a person, without secrets. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";
}
