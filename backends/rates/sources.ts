/** What the sources of rates say now, over HTTP. */
import { type Config, limits } from "../../config.js";
import {
  type PublishedQuote,
  type QuoteTable,
  dayAfter,
  isPublished,
  utcDay,
} from "../../schemas/rates.js";
import { readEcbXml } from "./ecb.js";
import { type Patience, fetchText } from "./fetch.js";
import { readWideList } from "./wide.js";

export class RateFeeds {
  constructor(
    private readonly config: Pick<Config, "ECB_RATES_URL" | "WIDE_RATES_URL">,
    private readonly patience: Patience,
    private readonly stopping: AbortSignal,
  ) {}

  /** The last 90 days. */
  async ecb(): Promise<PublishedQuote[]> {
    const url = this.config.ECB_RATES_URL;
    const text = await fetchText(url, this.patience, this.stopping);
    if (text === null) throw new Error(`${url} answered 404`);
    return readEcbXml(text);
  }

  /** @returns nothing when there is no list of that day */
  async wideList(day: string): Promise<PublishedQuote[]> {
    const url = this.config.WIDE_RATES_URL.replaceAll("{date}", day);
    const text = await fetchText(url, this.patience, this.stopping);
    const quotes = text === null ? [] : readWideList(text);
    const [first] = quotes;
    if (first !== undefined && first.day !== day) {
      throw new Error(`Asked for the wide list of ${day}, got that of ${first.day}`);
    }
    return quotes;
  }

  /** The lists of the last days that the table lacks, oldest first. */
  async missedWideLists(table: QuoteTable): Promise<PublishedQuote[]> {
    const today = utcDay(Date.now());
    const quotes: PublishedQuote[] = [];
    for (let back = limits.ratesCatchUpDaysMax - 1; back >= 0; back--) {
      const day = dayAfter(today, -back);
      if (!isPublished(table, "wide", day)) quotes.push(...(await this.wideList(day)));
    }
    return quotes;
  }
}
