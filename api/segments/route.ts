/** `GET /v1/segments`: those of the environment, for who has a key and no session. */
import { z } from "zod";
import { limits } from "../../config.js";
import { completeAnswer } from "../../schemas/http/clocks.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { segment } from "../../schemas/http/segments.js";
import { listSegments } from "../../workspaces/segments.js";
import { sendTable } from "../exports/send.js";
import { tables } from "../exports/tables.js";
import { clocksOf, completeText } from "../reading/reading.js";
import { readRoute } from "../reading/routes.js";
import { shownSegment } from "./manage.js";

export const segmentsRoute = readRoute(
  {
    path: "/v1/segments",
    summary: "Segments",
    description: "What the filter `segment` may be given, by name.",
    query: z.object(formatQuery),
    answer: completeAnswer("SegmentsAnswer", { data: z.array(segment) }),
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
