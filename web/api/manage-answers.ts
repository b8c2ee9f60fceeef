/** What the calls under `/v1/manage` and `/v1/session` answer, as types. */
import type { z } from "zod";
import type {
  auditList,
  createdIntegration,
  createdKey,
  listedIntegration,
} from "../../schemas/http/manage.js";
import type {
  activity,
  createdInvitation,
  invitation,
  member,
} from "../../schemas/http/members.js";
import type { listedSession, passkey } from "../../schemas/http/session.js";

export type {
  AttentionView,
  AuditView,
  BackfillView,
  BackupView,
  CoverageView,
  DemoView,
  ExportReport,
  KeyView,
  ProviderView,
  RatesView,
  ReconciliationView,
  RejectView,
  ReplayAnswer,
} from "../../schemas/http/manage.js";
export type { OpenedPayoutView, PayoutsView } from "../../schemas/http/payouts.js";
export type {
  CheckedReport,
  ComparedReport,
  KeptReportView as KeptReport,
  ReportFetchView,
} from "../../schemas/http/reports.js";
export type ListedIntegration = z.output<typeof listedIntegration>;
export type CreatedIntegration = z.output<typeof createdIntegration>;
export type CreatedKey = z.output<typeof createdKey>;
export type AuditList = z.output<typeof auditList>;
export type Activity = z.output<typeof activity>;
export type Member = z.output<typeof member>;
export type Invitation = z.output<typeof invitation>;
export type CreatedInvitation = z.output<typeof createdInvitation>;
export type ListedSession = z.output<typeof listedSession>;
export type Passkey = z.output<typeof passkey>;

export interface One<Data> {
  readonly data: Data;
}

export interface List<Row> {
  readonly data: readonly Row[];
  readonly pagination: { readonly has_more: boolean; readonly next_cursor: string | null };
}
