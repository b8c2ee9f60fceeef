# The service against servers (docker-compose.yml): the embedded engines are not in it. One role by
# its name (ingest, processors, api), all roles in one process without one.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Without install scripts: what is compiled here needs none.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && rm -rf dist/test dist/ops/bench dist/ops/demo

FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /build
COPY package.json package-lock.json ./
# `npm ci --omit=optional` would leave out the binary of lz4-napi, too; npm keeps the locked
# versions of all that stay.
RUN npm pkg delete dependencies.chdb dependencies.lmdb dependencies.@electric-sql/pglite devDependencies \
  && npm install --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16
WORKDIR /service
COPY package.json LICENSE README.md ./
COPY --from=packages /build/node_modules node_modules
COPY --from=build /build/dist dist
# Read at run time (runtime/project-root.ts, projectFile).
COPY migrations migrations
COPY schemas/released schemas/released
COPY workspaces/rates/ecb-history.csv.br workspaces/rates/
COPY docs docs
# Of a release: docs/releasing.md.
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="revenue-aggregation-service" \
  org.opencontainers.image.description="Self-hosted revenue analytics: every payment event, converted once, explained for ever" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.base.name="docker.io/library/node:24.21.0-bookworm-slim" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
USER node
EXPOSE 3000
ENTRYPOINT ["node", "dist/main.js"]
