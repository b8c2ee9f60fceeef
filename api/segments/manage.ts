/** `…/segments`: named filters of a workspace, for everybody in it. */
import type { Context } from "koa";
import { limits } from "../../config.js";
import { readJson } from "../../http/body.js";
import { forbidden, notFound, unprocessable } from "../../schemas/http/errors.js";
import { changedSegment, newSegment } from "../../schemas/http/segments.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Service } from "../../service.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import {
  type Segment,
  type SegmentContent,
  changeSegment,
  deleteSegment,
  findSegment,
  insertSegment,
  listSegments,
} from "../../workspaces/segments.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import { seesCustomers } from "../customers/names.js";
import { isSegmentUsed } from "../../workspaces/webhooks/endpoints.js";
import type { Calls } from "../manage/calls.js";
import { requireRoom } from "../manage/room.js";
import { shownEnvironment, storedEnvironment } from "../manage/views.js";
import { type CustomerList, listedAccounts, namesIn } from "./customers.js";
import { checkOfEvents } from "./resolve.js";

export function segmentRoutes(
  service: Service,
  calls: Calls<Workspace>,
  hashAccount: HashAccount,
): void {
  const { postgres } = service;
  const path = "/segments";
  const right = "manage";

  calls.list(path, "look", ({ id }, page) => listSegments(postgres, id, page), shown);

  const created = { right, action: "segment.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, { id: workspace }) => {
    const { name, environment = "Production", filters = {}, customers } = readJson(ctx, newSegment);
    const of = { workspace, environment: storedEnvironment(environment) };
    const list = customers === undefined ? null : await listOf(ctx, of, customers);
    const made = await postgres.transaction(async (sql) => {
      await requireRoom(sql, "segments", workspace, limits.segmentsMax, "deleted_at IS NULL");
      const content = { filters, accounts: list?.accounts ?? null };
      return insertSegment(sql, { ...of, name }, content, new Date());
    });
    return { ...shown(made), ...unmatchedOf(list) };
  });

  const one = `${path}/:segment`;
  calls.write("PATCH", one, { right, action: "segment.changed" }, async (ctx, workspace) => {
    const found = await segmentOf(ctx, workspace);
    const { name = found.name, filters, customers } = readJson(ctx, changedSegment);
    const of = { workspace: workspace.id, environment: found.environment };
    const list = typeof customers === "string" ? await listOf(ctx, of, customers) : null;
    if (filters && (await isSegmentUsed(postgres, workspace.id, found.id))) checkOfEvents(filters);
    const isSame = filters === undefined && customers === undefined;
    const change = (before: SegmentContent): SegmentContent | null => {
      if (isSame) return null;
      const accounts = customers === undefined ? before.accounts : (list?.accounts ?? null);
      const changed = { filters: filters ?? before.filters, accounts };
      if (changed.accounts !== null || Object.keys(changed.filters).length > 0) return changed;
      throw unprocessable("segment_empty", "It must have filters or customers.", "filters");
    };
    await changeSegment(postgres, workspace.id, found, name, change, new Date());
    return { ...shown(await segmentOf(ctx, workspace)), ...unmatchedOf(list) };
  });

  calls.write("DELETE", one, { right, action: "segment.deleted" }, async (ctx, workspace) => {
    const found = await segmentOf(ctx, workspace);
    await deleteSegment(postgres, found.id, new Date());
    return shown(found);
  });

  /** @throws ApiError 403 where the caller could test by it whether somebody is a customer */
  function listOf(
    ctx: Context,
    of: { readonly workspace: string; readonly environment: Environment },
    text: string,
  ): Promise<CustomerList> {
    if (ctx.state.caller?.kind !== "member") {
      throw forbidden("session_required", "Only members may send lists of customers.");
    }
    const seesNames = seesCustomers({ ctx, access: of });
    return listedAccounts(service, hashAccount, of, namesIn(text), seesNames);
  }

  /** @throws ApiError 404 */
  async function segmentOf(ctx: Context, { id }: Workspace): Promise<Segment> {
    const found = await findSegment(postgres, id, String(ctx.params.segment));
    if (found === null) throw notFound("segment_unknown", "There is no such segment.");
    return found;
  }
}

function unmatchedOf(list: CustomerList | null) {
  return list === null ? {} : { unmatched: list.unmatched };
}

function shown({ environment, ...segment }: Segment) {
  return { ...segment, environment: shownEnvironment(environment) };
}
