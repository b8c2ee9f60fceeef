/** Made-up names and e-mail addresses of the demo's customers; example.com takes no mail. */
import { Chance } from "./chance.js";

export interface Person {
  readonly name: string;
  readonly email: string;
}

/** @param tag of the customer: the same one at every run */
export function personOf(tag: string): Person {
  const chance = new Chance(`person ${tag}`);
  const first = oneOf(firstNames, chance);
  const last = oneOf(lastNames, chance);
  const number = tag.replace(/\D+/g, "");
  const email = `${first}.${last}${number}`.toLowerCase();
  return { name: `${first} ${last}`, email: `${email}@example.com` };
}

function oneOf(names: string, chance: Chance): string {
  return chance.weighted(names.split(" ").map((name) => [1, name] as const));
}

const firstNames =
  "Ada Amara Ben Chiara Daan Elena Farid Grace Hana Ines " +
  "Jonas Kenji Lena Marco Nia Oscar Priya Ruth Sofia Tom";

const lastNames =
  "Adler Brandt Costa Dubois Evans Fischer Garcia Hughes Ito Jansen " +
  "Kowalski Lindberg Moreau Novak Okafor Patel Rossi Sato Turner Weber";
