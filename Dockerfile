# Dunlin in a container, on the image's Node and a PostgreSQL of your own (DATABASE_URL): docs/guides/containers.md
ARG NODE_IMAGE=node:26-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /opt/dunlin
COPY package.json package-lock.json .npmrc ./
COPY sdk/package.json sdk/
COPY connectors/stripe/package.json connectors/stripe/
# Neither development tools nor a Node and a PostgreSQL of its own.
RUN npm ci --omit=dev --omit=optional
COPY . .

FROM ${NODE_IMAGE}
WORKDIR /opt/dunlin
COPY --from=build /opt/dunlin ./
ENV NODE_ENV=production \
    DUNLIN_DATA=/data \
    DUNLIN_HOST=0.0.0.0 \
    DUNLIN_METRICS_HOST=0.0.0.0
# A number, so that Kubernetes can see that it is not root. Root owns the program, so this user cannot change it.
RUN install -d -o 10001 -g 10001 -m 700 /data
USER 10001:10001
EXPOSE 8443 9464
# A stop takes up to 35 s: webhooks on the wire end first.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "bin/dunlin.js"]
CMD ["serve"]
