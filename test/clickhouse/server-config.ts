/** The configuration of ClickHouse servers of the tests, whose users stand in it, too. */

/** An element by its name: its text, what is in it, or several of that name. */
export interface Xml {
  readonly [name: string]: string | Xml | readonly (string | Xml)[];
}

export function xml(elements: Xml): string {
  return Object.entries(elements)
    .flatMap(([name, content]) =>
      (isList(content) ? content : [content]).map((one) => {
        return `<${name}>${typeof one === "string" ? one : xml(one)}</${name}>`;
      }),
    )
    .join("");
}

function isList(content: Xml[string]): content is readonly (string | Xml)[] {
  return Array.isArray(content);
}

/**
 * @param folder of the server
 * @param users by name, with what each has beside the usual; `default` has no password
 * @param profiles settings by name; `default` is that of who names none
 */
export function withUsers(
  folder: string,
  users: Readonly<Record<string, Xml>>,
  profiles: Readonly<Record<string, Xml>> = {},
): Xml {
  const usual = { networks: { ip: "::/0" }, quota: "default", profile: "default", password: "" };
  const named = Object.entries({ default: {}, ...users });
  return {
    user_directories: { users_xml: { path: `${folder}/config.xml` } },
    quotas: { default: {} },
    profiles: { default: {}, ...profiles },
    users: Object.fromEntries(named.map(([name, own]) => [name, { ...usual, ...own }])),
  };
}

export function granted(grants: readonly string[]): Xml {
  return { grants: { query: grants } };
}
