/** Annotations: what happened on a day, for everybody who looks at the charts of a workspace. */
import { limits } from "../../config.js";
import { annotation, changedAnnotation, newAnnotation } from "../../schemas/http/members.js";
import { durably, insertRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { newestFirst } from "../../workspaces/list-page.js";
import { named, ofWorkspace } from "./calls.js";
import { requireRoom } from "./room.js";

interface Annotation {
  readonly id: string;
  /** YYYY-MM-DD */
  readonly day: string;
  readonly text: string;
  readonly created_at: Date;
}

const select = "SELECT id, day, text, created_at FROM annotations";
const path = "/annotations";
const one = `${path}/{annotation}`;

const annotationOf = named("annotation", async ({ postgres, of }, id) => {
  const query = `${select} WHERE workspace = $1 AND id = $2`;
  return (await postgres.query<Annotation>(query, [of.id, id]))[0];
});

export const annotationRoutes = [
  ofWorkspace.post(path, "Note what happened on a day", {
    right: "assist",
    action: "annotation.created",
    body: newAnnotation,
    answer: annotation,
    errors: [409],
    async run({ postgres, of, body: { day, text } }) {
      const made: Annotation = { id: `ann_${randomBase62(20)}`, day, text, created_at: new Date() };
      await postgres.transaction(async (sql) => {
        await requireRoom(sql, "annotations", of.id, limits.annotationsMax);
        await insertRow(sql, "annotations", { ...made, workspace: of.id });
      });
      return made;
    },
  }),
  ofWorkspace.list(path, "Annotations", {
    right: "look",
    row: annotation,
    read: ({ postgres, of }, page) =>
      newestFirst<Annotation>(postgres, page, `${select} WHERE workspace = $4`, [of.id]),
  }),
  ofWorkspace.patch(one, "Change an annotation", {
    right: "manage",
    action: "annotation.changed",
    body: changedAnnotation,
    answer: annotation,
    find: annotationOf,
    async run({ postgres, found, body: { day = found.day, text = found.text } }) {
      const update = "UPDATE annotations SET day = $2, text = $3 WHERE id = $1";
      await durably(postgres, update, [found.id, day, text]);
      return { ...found, day, text };
    },
  }),
  ofWorkspace.delete(one, "Delete an annotation", {
    right: "manage",
    action: "annotation.deleted",
    answer: annotation,
    find: annotationOf,
    async run({ postgres, found }) {
      await durably(postgres, "DELETE FROM annotations WHERE id = $1", [found.id]);
      return found;
    },
  }),
];
