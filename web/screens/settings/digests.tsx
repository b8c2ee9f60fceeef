/** The figures by e-mail: how often, when last, and what one looks like. */
import { useState } from "preact/hooks";
import type { z } from "zod";
import type { digestPreview, digests } from "../../../schemas/http/outbound/digests.js";
import { call, urlOf } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { useUrl } from "../../api/use-answer.js";
import { Fact } from "../../parts/fact.js";
import { Options } from "../../parts/options.js";
import { SegmentField } from "../../parts/segments.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { When } from "../../parts/when.js";
import { useManagePath, useMayManage } from "./manage.js";

const frequencies = {
  off: "Never",
  daily: "Every day",
  weekly: "Every week",
  monthly: "Every month",
} as const;
type Choice = keyof typeof frequencies;
type Digest = z.output<typeof digests>["email"];
type Channel = "email" | (typeof shared)[number]["to"];

/** Of the workspace. */
const shared = [
  { to: "chat", label: "In the chat channel", partLabel: "Segment sent to chat" },
  { to: "webhook", label: "To your webhooks", partLabel: "Segment sent to webhooks" },
] as const;

export function Digests() {
  const path = `${useManagePath()}/digests`;
  const action = useAction();
  const isManager = useMayManage();
  const { answer, error } = useUrl<One<z.output<typeof digests>>>(path);
  const [previewed, setPreviewed] = useState<Exclude<Choice, "off"> | null>(null);
  // Of a digest that is not there yet, until its frequency is chosen.
  const [parts, setParts] = useState<Readonly<Record<string, string | null>>>({});
  const partOf = (to: Channel, of: Digest) => (of === null ? (parts[to] ?? null) : of.segment);
  if (error !== null) return <Failure error={error} />;
  if (answer === null) return <SkeletonTable rows={2} columns={2} />;
  const { email, missing_settings: missing } = answer.data;
  const own = email?.frequency ?? "off";
  const fieldsOf = (to: Channel, of: Digest) => ({
    frequency: of?.frequency ?? "off",
    segment: partOf(to, of),
    onChange: (frequency: string, segment: string | null): void => {
      setParts({ ...parts, [to]: segment });
      if (frequency !== "off") {
        const body = { frequency, ...(segment === null ? {} : { segment }) };
        action.run(() => call("POST", `${path}/${to}`, { body }));
      } else if (of !== null) {
        action.run(() => call("DELETE", `${path}/${to}`));
      }
    },
  });
  return (
    <>
      <Failure error={action.error} />
      <p>MRR and revenue of the period, and what changed and why, to your e-mail address.</p>
      {missing.length === 0 ? null : (
        <p>
          No e-mail can be sent yet: <code>{missing.join(", ")}</code> must be set.
        </p>
      )}
      <div class="row-form bottom settings-section">
        <Choose
          label="Digest by e-mail"
          partLabel="Segment sent by e-mail"
          {...fieldsOf("email", email)}
          isDisabled={action.isBusy || (missing.length > 0 && email === null)}
        />
        {isManager
          ? shared.map(({ to, ...labels }) => (
              <Choose
                key={to}
                {...labels}
                {...fieldsOf(to, answer.data[to])}
                isDisabled={action.isBusy}
              />
            ))
          : null}
        <button
          type="button"
          class="button"
          onClick={() => setPreviewed(own === "off" ? "weekly" : own)}
        >
          Preview
        </button>
      </div>
      <Sending of={email} name="By e-mail" />
      {shared.map(({ to, label }) => (
        <Sending key={to} of={answer.data[to]} name={label} />
      ))}
      {previewed === null ? null : (
        <Preview path={path} frequency={previewed} segment={partOf("email", email)} />
      )}
    </>
  );
}

function Choose(props: {
  readonly label: string;
  readonly partLabel: string;
  readonly frequency: string;
  readonly segment: string | null;
  readonly isDisabled: boolean;
  readonly onChange: (frequency: string, segment: string | null) => void;
}) {
  const { label, frequency, segment, isDisabled, onChange } = props;
  return (
    <>
      <label>
        {label}
        <select
          value={frequency}
          disabled={isDisabled}
          onChange={(event) => onChange(event.currentTarget.value, segment)}
        >
          <Options of={Object.entries(frequencies)} />
        </select>
      </label>
      <SegmentField
        label={props.partLabel}
        none="The whole business"
        value={segment}
        isDisabled={isDisabled}
        onChange={(chosen) => onChange(frequency, chosen)}
      />
    </>
  );
}

function Sending({ of, name }: { readonly of: Digest; readonly name: string }) {
  if (of === null) return null;
  return (
    <section class="settings-section" aria-label={name}>
      <h2>{name}</h2>
      <dl class="facts">
        <Fact name="Last sent">{of.sent_at === null ? "Not yet" : <When at={of.sent_at} />}</Fact>
        <Fact name={of.problem === null ? "Next" : "Next try"}>
          <When at={of.next_at} />
        </Fact>
        {of.problem === null ? null : <Fact name="Last try failed">{of.problem}</Fact>}
      </dl>
    </section>
  );
}

function Preview(props: {
  readonly path: string;
  readonly frequency: string;
  readonly segment: string | null;
}) {
  const { path, frequency, segment } = props;
  const { answer, error } = useUrl<One<z.output<typeof digestPreview>>>(
    urlOf(`${path}/preview`, { frequency, segment }),
  );
  if (error !== null) return <Failure error={error} />;
  if (answer === null) return <SkeletonTable rows={4} columns={1} />;
  return (
    <section class="settings-section" aria-label="Preview">
      <h2>{answer.data.subject}</h2>
      <img class="digest-picture" src={answer.data.picture} alt="MRR day by day" />
      <pre class="digest-preview">{answer.data.text}</pre>
    </section>
  );
}
