/** What is read with a key, in the order of the OpenAPI document. */
import { accountRoute } from "./accounts/details.js";
import { accountsRoute } from "./accounts/route.js";
import { cohortsRoute } from "./cohorts/route.js";
import { countriesRoute } from "./countries/route.js";
import { eventsRoute } from "./events/route.js";
import { failedPaymentsRoute } from "./failed-payments/route.js";
import { movementsRoute } from "./movement-series/route.js";
import { mrrChangesRoute } from "./mrr-changes/route.js";
import { mrrCompareRoute } from "./mrr-compare/route.js";
import { mrrRoute } from "./mrr/route.js";
import { productsRoute } from "./products/route.js";
import { ratesRoute } from "./rates/route.js";
import { recordedMovementsRoute } from "./recorded-movements/route.js";
import { revenueRoute } from "./revenue/route.js";
import { segmentsRoute } from "./segments/manage.js";
import { streamRoute } from "./stream/stream.js";
import { summaryRoute } from "./summary/route.js";
import { transactionRoute } from "./transaction/route.js";
import { transactionsRoute } from "./transactions/route.js";
import { trialsRoute } from "./trials/route.js";
import { whatChangedRoute } from "./what-changed/route.js";

export const readRoutes = [
  mrrRoute,
  cohortsRoute,
  mrrChangesRoute,
  mrrCompareRoute,
  whatChangedRoute,
  movementsRoute,
  revenueRoute,
  summaryRoute,
  ratesRoute,
  trialsRoute,
  failedPaymentsRoute,
  countriesRoute,
  segmentsRoute,
  productsRoute,
  recordedMovementsRoute,
  accountsRoute,
  accountRoute,
  transactionsRoute,
  transactionRoute,
  eventsRoute,
  streamRoute,
];
