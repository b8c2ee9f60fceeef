/** A Kafka where each role is a user with the rights that docs/operating.md lists, no others. */
import kafkajs, { type AclEntry } from "kafkajs";
import { asAdmin, type KafkaSettings } from "../../../stores/log/kafka/connection.js";
import { topics } from "../../../schemas/records/records.js";
import { groups, passages } from "../../../stores/watermark/watermark.js";
import { type RoleName, roleNames } from "../../../start.js";
import { testLogger } from "../../harness/stores.js";

/** The password of each is its name. */
const users = Object.fromEntries(["admin", ...roleNames].map((user) => [user, user]));

/** @param passwords by user; the first is the broker's own */
export function plainLogins(passwords: Readonly<Record<string, string>>): string {
  const all = Object.entries(passwords);
  const [[own, password] = []] = all;
  const words = [
    "org.apache.kafka.common.security.plain.PlainLoginModule required",
    `username="${own}" password="${password}"`,
    ...all.map(([user, known]) => `user_${user}="${known}"`),
  ];
  return `${words.join(" ")};`;
}

/** Of the broker; its users have no rights yet. */
export const kafkaWithUsers = {
  "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
  "sasl.enabled.mechanisms": "PLAIN",
  "sasl.mechanism.inter.broker.protocol": "PLAIN",
  "listener.name.plaintext.plain.sasl.jaas.config": plainLogins(users),
  "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
  "super.users": "User:admin;User:ANONYMOUS",
};

export function loginOf(user: string) {
  return {
    KAFKA_SASL_MECHANISM: "plain",
    KAFKA_SASL_USERNAME: user,
    KAFKA_SASL_PASSWORD: user,
  };
}

export interface Right {
  readonly operation: "READ" | "WRITE" | "CREATE" | "DESCRIBE";
  readonly on: "TOPIC" | "GROUP";
  readonly name: string;
}
type Rights = readonly [operation: Right["operation"], on: Right["on"], names: readonly string[]];

const { raw, incomplete, facts, transactions, movements, rejected } = topics;
const { webhooks } = groups;
/** What all names begin with. */
const every = ["revenue."];

const rights: Readonly<Record<RoleName, readonly Rights[]>> = {
  ingest: [["WRITE", "TOPIC", [raw]]],
  processors: [
    ["READ", "TOPIC", [raw, incomplete, facts]],
    ["WRITE", "TOPIC", every],
    ["READ", "GROUP", passages.map(([topic, group]) => `${topic}.${group}`)],
  ],
  api: [
    ["READ", "TOPIC", every],
    ["WRITE", "TOPIC", [raw]],
    ["READ", "GROUP", [transactions, movements, rejected].map((topic) => `${topic}.${webhooks}`)],
  ],
};
const rightsOfAll: readonly Rights[] = [
  ["DESCRIBE", "TOPIC", every],
  ["DESCRIBE", "GROUP", every],
  // The first that starts makes the topics.
  ["CREATE", "TOPIC", every],
];

export async function giveRights(brokers: string): Promise<void> {
  const sasl = { mechanism: "plain", username: "admin", password: "admin" } as const;
  const settings: KafkaSettings = { brokers: [brokers], tls: null, sasl };
  const { LITERAL, PREFIXED } = kafkajs.ResourcePatternTypes;
  const acl = roleNames.flatMap((role) =>
    [...rightsOfAll, ...rights[role]].flatMap(([operation, on, names]) =>
      names.map((name) =>
        aclOf(role, { operation, on, name }, names === every ? PREFIXED : LITERAL),
      ),
    ),
  );
  await asAdmin(settings, testLogger, (admin) => admin.createAcls({ acl }));
}

export function aclOf(
  user: string,
  { operation, on, name }: Right,
  pattern = kafkajs.ResourcePatternTypes.LITERAL,
): AclEntry {
  return {
    resourceType: kafkajs.AclResourceTypes[on],
    resourceName: name,
    resourcePatternType: pattern,
    principal: `User:${user}`,
    host: "*",
    operation: kafkajs.AclOperationTypes[operation],
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
  };
}
