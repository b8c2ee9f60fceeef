/** What the calls about sessions answer, as types. */
import type { z } from "zod";
import type { signInProvider } from "../../schemas/http/session.js";

export type SignInProvider = z.output<typeof signInProvider>;
