/** What the figures miss: a line above every screen of figures, and the whole list. */
import type { AttentionView, One } from "../api/manage-answers.js";
import { urlOf } from "../api/client.js";
import { useUrl } from "../api/use-answer.js";
import { day } from "../format/dates.js";
import { namesList, providerName } from "../format/names.js";
import { count } from "../format/numbers.js";
import { reasonWords } from "../screens/settings/reject-reasons.js";
import { mayManage, ownsInstallation, workspaceOf } from "../state/session.js";
import { passes } from "../state/filter.js";
import { type View, useView } from "../state/view.js";

interface Notice {
  readonly text: string;
  /** The page where it can be fixed; linked only for members who may do so. */
  readonly fix: string;
  readonly isFixer: boolean;
  /** Figures miss something now, as opposed to soon. */
  readonly isMissing: boolean;
}

/** Not on the overview, which has the whole list, nor on the page of an event, without figures. */
export function AttentionLine() {
  const view = useView();
  const isWanted = view.path !== "/overview" && !view.path.startsWith("/events/");
  const missing = useNotices(isWanted).filter(({ isMissing }) => isMissing);
  const [first, ...others] = missing;
  if (first === undefined) return null;
  return (
    <p class="attention">
      <NoticeText of={first} />
      {others.length === 0 ? null : (
        <>
          {" "}
          <a href={view.to("/overview")}>and {count(others.length)} more</a>
        </>
      )}
    </p>
  );
}

export function AttentionList() {
  const notices = useNotices(true);
  if (notices.length === 0) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {notices.map((notice) => (
          <li key={notice.text}>
            <NoticeText of={notice} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function NoticeText({ of: { text, fix, isFixer } }: { readonly of: Notice }) {
  return (
    <>
      {text} {isFixer ? <a href={fix}>Fix</a> : null}
    </>
  );
}

/** Of the chosen providers. A frozen view shows what was known then, which nothing now changes. */
export function useAttention(isWanted: boolean) {
  const { workspace, environment, isFrozen, filters } = useView();
  const path = `/v1/manage/workspaces/${workspace ?? ""}/attention`;
  const isAsked = isWanted && workspace !== null && !isFrozen;
  const { answer } = useUrl<One<AttentionView>>(isAsked ? urlOf(path, { environment }) : null);
  const isShown = ({ provider }: { readonly provider: string }): boolean =>
    passes(filters.provider, provider);
  return { answer: answer?.data ?? null, isShown };
}

function useNotices(isWanted: boolean): Notice[] {
  const view = useView();
  const { workspace } = view;
  const { answer, isShown } = useAttention(isWanted);
  if (answer === null) return [];
  const isFixer = mayManage(workspaceOf(workspace));
  const { rejects, rates, integrations, history, webhooks } = answer;
  const notices = [
    ...rejects.filter(isShown).map((group) => ({ ...rejectNotice(group, view), isFixer })),
    ...integrations.filter(isShown).map((one) => ({ ...integrationNotice(one, view), isFixer })),
    ...historyNotices(history.filter(isShown), view).map((one) => ({ ...one, isFixer })),
    ...rates.map((rate) => ({ ...rateNotice(rate, view), isFixer: ownsInstallation() })),
    ...webhooks.map(({ host, since }) => ({
      text: `Webhooks to ${host} are disabled since ${day(since)}: it took none.`,
      fix: view.to("/settings/webhooks"),
      isFixer,
      isMissing: false,
    })),
  ];
  return notices.toSorted((one, other) => Number(other.isMissing) - Number(one.isMissing));
}

type Worded = Omit<Notice, "isFixer">;

function rejectNotice(
  { provider, reason, step, events, integration }: AttentionView["rejects"][number],
  view: View,
): Worded {
  const [are, some] = events === 1 ? ["is", "event"] : ["are", "events"];
  const named = `${count(events)} ${some} of ${providerName(provider)}`;
  // With credentials that the provider's API accepts, what waits for it is replayed by itself.
  const isForCredentials = reason.startsWith("enrichment_") && integration !== null;
  const fix = isForCredentials
    ? view.to(`/settings/integrations/${integration}`)
    : view.to("/settings/rejects", { reason, of: provider });
  if (step === "enrich") {
    const text = `${named} ${are} booked without a name or a fee that the API did not tell.`;
    return { text, fix, isMissing: false };
  }
  const text = `${named}, ${reasonWords(reason).clause}, ${are} missing from the figures.`;
  return { text, fix, isMissing: true };
}

function integrationNotice(
  { id, provider, name, state, since }: AttentionView["integrations"][number],
  view: View,
): Worded {
  const named = integrationName(provider, name);
  const texts = {
    refused: `The last call of ${named} was refused on ${day(since)}: events may be missing.`,
    incomplete: `${named} does not send all event types that the figures need.`,
    quiet: `${named} has sent nothing since ${day(since)}.`,
    waiting: `${named} has sent nothing since it was connected on ${day(since)}.`,
  };
  const fix = view.to(`/settings/integrations/${id}`);
  return { text: texts[state], fix, isMissing: state === "refused" || state === "incomplete" };
}

/**
 * One for all: whoever connects five providers reads it once. Not on every screen: tables say it of
 * the months it is true of (`useUnreadHistory`).
 */
function historyNotices(unread: AttentionView["history"], view: View): Worded[] {
  const [first, ...others] = unread;
  if (first === undefined) return [];
  const names = unread.map(({ provider, name }) => integrationName(provider, name));
  const isOne = others.length === 0;
  const before = isOne ? ` before ${day(first.unread_until)}` : "";
  return [
    {
      text: `The history of ${namesList.format(names)}${before} is not read.`,
      fix: view.to(isOne ? `/settings/integrations/${first.id}` : "/settings/integrations"),
      isMissing: false,
    },
  ];
}

function integrationName(provider: string, name: string | null): string {
  return name === null ? providerName(provider) : `${providerName(provider)} (${name})`;
}

const sources = { ecb: "of the ECB", wide: "of rarer currencies" };

function rateNotice(
  { source, newest_day: newest }: AttentionView["rates"][number],
  view: View,
): Worded {
  const from = newest === null ? "There are no" : `Amounts are converted at the`;
  const of = newest === null ? "" : ` of ${day(newest)}`;
  const text = `${from} exchange rates ${sources[source]}${of}: newer ones could not be fetched.`;
  return { text, fix: view.to("/installation/rates"), isMissing: true };
}
