/** The fields of a provider's credentials: made from what its adapter asks for. */
import type { ProviderView } from "../../../api/manage-answers.js";
import { CallError } from "../../../api/client.js";
import { words } from "../../../format/names.js";

type Field = ProviderView["credentials"][number];

export function CredentialFields(props: {
  readonly fields: readonly Field[];
  /** Names of those that are entered already. */
  readonly set?: readonly string[];
  /** `credentials.signing_secret`, when the service refused it. */
  readonly wrong: string | null;
}) {
  const { fields, set = [], wrong } = props;
  return (
    <>
      {fields.map((field) => {
        const { name, help, made } = field;
        const isWrong = wrong?.split(".")[1] === name;
        const isSet = set.includes(name);
        const required = field.required && !isSet;
        const note = isSet ? "(set; leave empty to keep)" : "(optional)";
        return (
          <div class="field" key={name}>
            <label for={`credential-${name}`}>
              {fieldName(name)} {required ? null : <span class="soft">{note}</span>}
            </label>
            <Input field={{ ...field, required }} isWrong={isWrong} />
            {isSet && !field.required ? (
              <label class="check">
                <input type="checkbox" name={removedName(name)} />{" "}
                {made ? "Make a new one" : "Remove it"}
                <span class="unseen"> ({fieldName(name)})</span>
              </label>
            ) : null}
            {help === null ? null : (
              <p class={isWrong ? "small loss" : "small soft"} id={`help-${name}`}>
                {help}
              </p>
            )}
          </div>
        );
      })}
    </>
  );
}

function Input({ field, isWrong }: { readonly field: Field; readonly isWrong: boolean }) {
  const { name, required, type, values, help } = field;
  const shared = {
    id: `credential-${name}`,
    name,
    required,
    "aria-invalid": isWrong,
    autocomplete: "off",
    ...(help === null ? {} : { "aria-describedby": `help-${name}` }),
  } as const;
  if (values !== null) {
    return (
      <select {...shared}>
        {required ? null : <option value="">–</option>}
        {values.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    );
  }
  if (type === "text") return <input type="text" spellcheck={false} {...shared} />;
  return (
    <textarea
      rows={type === "list" ? 2 : 5}
      spellcheck={false}
      placeholder={type === "list" ? "One a line" : "{ … }"}
      {...shared}
    />
  );
}

function removedName(name: string): string {
  return `remove-${name}`;
}

/**
 * Those entered; null for those to remove.
 * @throws CallError for a field that is not the JSON it should be
 */
export function credentialsOf(form: HTMLFormElement, fields: readonly Field[]): object {
  const data = new FormData(form);
  return Object.fromEntries(
    fields.flatMap(({ name, type }) => {
      const given = data.get(name);
      const text = typeof given === "string" ? given.trim() : "";
      if (text !== "") return [[name, valueOf(name, type, text)]];
      return data.has(removedName(name)) ? [[name, null]] : [];
    }),
  );
}

function valueOf(name: string, type: Field["type"], text: string): unknown {
  if (type === "text") return text;
  if (type === "list") {
    return text
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  }
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    const message = `${fieldName(name)} is not JSON: paste the whole file.`;
    throw new CallError(422, "credential_invalid", message, null, `credentials.${name}`);
  }
}

const shortForms: Readonly<Record<string, string>> = {
  api: "API",
  id: "ID",
  ids: "IDs",
  jwks: "JWKS",
  url: "URL",
};

/** `api_key` → `API key` */
function fieldName(name: string): string {
  return words(name)
    .split(" ")
    .map((word) => shortForms[word.toLowerCase()] ?? word)
    .join(" ");
}
