/** Secrets the service made for an integration: in the memory of this page only. */
import { signal } from "@preact/signals";
import type { CreatedIntegration } from "../../../api/manage-answers.js";

type Made = Pick<CreatedIntegration, "id" | "credentials">;

const last = signal<Made | null>(null);

export function showOnce({ id, credentials }: Made): void {
  last.value = credentials === undefined ? null : { id, credentials };
}

export function madeFor(integration: string): readonly (readonly [name: string, value: string])[] {
  const made = last.value;
  return made?.id === integration ? Object.entries(made.credentials ?? {}) : [];
}
