/** `…/segments`: named filters of a workspace, for everybody in it. */
import { limits } from "../../config.js";
import { forbidden, unprocessable } from "../../schemas/http/errors.js";
import {
  changedSegment,
  newSegment,
  segment as segmentShape,
  writtenSegment,
} from "../../schemas/http/segments.js";
import type { Tenant } from "../../schemas/records/records.js";
import {
  changeSegment,
  deleteSegment,
  findSegment,
  insertSegment,
  listSegments,
  type Segment,
  type SegmentContent,
} from "../../workspaces/segments.js";
import { seesCustomers } from "../customers/names.js";
import { type Call, named, ofWorkspace } from "../manage/calls.js";
import { requireRoom } from "../manage/room.js";
import { shownEnvironment, storedEnvironment } from "../manage/environments.js";
import { isSegmentUsed } from "../../workspaces/webhooks/endpoints.js";
import { checkOfEvents } from "./resolve.js";
import { type CustomerList, listedAccounts, namesIn } from "./customers.js";
import { z } from "zod";
import { completeAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { clocksOf, completeText } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";

const path = "/segments";
const one = `${path}/{segment}`;

const segmentOf = named("segment", ({ postgres, of }, id) => findSegment(postgres, of.id, id));

export const segmentRoutes = [
  ofWorkspace.post(path, "Save filters under a name, or a list of customers", {
    right: "manage",
    action: "segment.created",
    body: newSegment,
    answer: writtenSegment,
    errors: [409],
    async run(call) {
      const { name, environment = "Production", filters = {}, customers } = call.body;
      const of = { workspace: call.of.id, environment: storedEnvironment(environment) };
      const list = customers === undefined ? null : await listOf(call, of, customers);
      const made = await call.postgres.transaction(async (sql) => {
        await requireRoom(sql, "segments", call.of.id, limits.segmentsMax, "deleted_at IS NULL");
        const content = { filters, accounts: list?.accounts ?? null };
        return insertSegment(sql, { ...of, name }, content, new Date());
      });
      return { ...shownSegment(made), ...unmatchedOf(list) };
    },
  }),
  ofWorkspace.list(path, "Segments", {
    right: "look",
    row: segmentShape,
    read: ({ postgres, of }, page) => listSegments(postgres, of.id, page),
    view: shownSegment,
  }),
  ofWorkspace.patch(one, "Change a segment", {
    right: "manage",
    action: "segment.changed",
    body: changedSegment,
    answer: writtenSegment,
    errors: [409],
    find: segmentOf,
    async run(call) {
      const { postgres, found, body } = call;
      const { name = found.name, filters, customers } = body;
      const of = { workspace: call.of.id, environment: found.environment };
      const list = typeof customers === "string" ? await listOf(call, of, customers) : null;
      const isUsed = filters && (await isSegmentUsed(postgres, call.of.id, found.id));
      if (isUsed) checkOfEvents(filters);
      const isSame = filters === undefined && customers === undefined;
      const change = (before: SegmentContent): SegmentContent | null => {
        if (isSame) return null;
        const accounts = customers === undefined ? before.accounts : (list?.accounts ?? null);
        const changed = { filters: filters ?? before.filters, accounts };
        if (changed.accounts !== null || Object.keys(changed.filters).length > 0) return changed;
        throw unprocessable("segment_empty", "It must have filters or customers.", "filters");
      };
      await changeSegment(postgres, call.of.id, found, name, change, new Date());
      return { ...shownSegment(await segmentOf(call)), ...unmatchedOf(list) };
    },
  }),
  ofWorkspace.delete(one, "Delete a segment; frozen links still show it", {
    right: "manage",
    action: "segment.deleted",
    answer: segmentShape,
    find: segmentOf,
    async run({ postgres, found }) {
      await deleteSegment(postgres, found.id, new Date());
      return shownSegment(found);
    },
  }),
];

/** @throws ApiError 403 where the caller could test by it whether somebody is a customer */
function listOf(
  { ctx, hashAccount, ...service }: Call,
  of: Tenant,
  text: string,
): Promise<CustomerList> {
  if (ctx.state.caller?.kind !== "member") {
    throw forbidden("session_required", "Only members may send lists of customers.");
  }
  const seesNames = seesCustomers({ ctx, access: of });
  return listedAccounts(service, hashAccount, of, namesIn(text), seesNames);
}

function unmatchedOf(list: CustomerList | null) {
  return list === null ? {} : { unmatched: list.unmatched };
}

function shownSegment({ environment, ...segment }: Segment) {
  return { ...segment, environment: shownEnvironment(environment) };
}

export const segmentsRoute = readRoute(
  {
    path: "/v1/segments",
    summary: "Segments",
    description: "What the filter `segment` may be given, by name.",
    query: z.object(formatQuery),
    answer: completeAnswer("SegmentsAnswer", { data: z.array(segmentShape) }),
  },
  async ({ service, ctx, access, format }) => {
    const clocks = await clocksOf(service, access);
    const all = { rowsMax: limits.segmentsMax, after: null };
    const found = await listSegments(service.postgres, access.workspace, all);
    const data = found
      .filter(({ environment }) => environment === access.environment)
      .map((each) => ({ ...shownSegment(each), created_at: each.created_at.toISOString() }));
    if (format === null) return { data, complete_to: completeText(clocks) };
    sendTable(ctx, format, tables.segments, data, clocks);
    return null;
  },
);
