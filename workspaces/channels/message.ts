/** What is sent to people outside of the dashboard, by any channel. */
export interface Message {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** A PNG that `html` names by `cid:`. */
  readonly picture?: { readonly cid: string; readonly png: Buffer };
  /** A POST there ends these messages (RFC 8058); only in e-mail. */
  readonly unsubscribeUrl?: string;
}

/** The channel did not accept it; the message is a sentence for a person, without secrets. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";
}
