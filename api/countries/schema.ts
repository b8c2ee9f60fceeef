/** `GET /v1/countries`: the countries for which the filter `country` finds something. */
import { z } from "zod";
import { completeAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";

export const countriesQueryParameters = z.object(formatQuery);

export const countryRow = z
  .object({ country: z.string().meta({ description: "`ZZ` where nobody reported it." }) })
  .meta({ id: "Country" });

export const countriesAnswer = completeAnswer("CountriesAnswer", {
  data: z.array(countryRow).meta({ description: "In the order of their codes." }),
});
export type CountriesAnswer = z.output<typeof countriesAnswer>;
