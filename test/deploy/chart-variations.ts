import type { Values } from "./helm-chart.ts";

const SECRET = { DATABASE_URL: "postgres://dunlin:p%40ss@database:5432/dunlin", DUNLIN_SECRET_KEY: "SECRET_KEY" };

/** Values of operators. Each is rendered, checked, and compared with Go's own rendering. */
export const VARIATIONS: Readonly<Record<string, Values>> = {
  "the default values": {},
  "a secret that exists": { existingSecret: "dunlin-vault", filesSecret: "dunlin-files" },
  "a secret of the values": { secret: { ...SECRET, DUNLIN_SMTP_URL: 'smtps://a:"b<c>&\\@mail.example.com:465' } },
  "an ingress": {
    ingress: {
      enabled: true,
      className: "nginx",
      annotations: { "nginx.ingress.kubernetes.io/proxy-body-size": "8m", "example.com/on": "on" },
      tlsSecret: "dunlin-tls",
    },
    settings: { DUNLIN_AUTH_URL: "https://Console.example.org/" },
  },
  "no autoscaling and no budgets": {
    roles: Object.fromEntries(
      ["api", "decide", "deliver", "console"].map((role) => [
        role,
        { replicas: 1, autoscaling: { enabled: false }, budget: { enabled: false } },
      ]),
    ),
  },
  "one role that runs elsewhere": { roles: { console: { enabled: false } }, ingress: { enabled: true } },
  "settings, images and nodes of an operator": {
    image: { repository: "mirror/dunlin", tag: "0.2.0-1", pullPolicy: "Always", pullSecrets: ["mirror"] },
    settings: {
      DUNLIN_TLS: "on",
      DUNLIN_METRICS_PORT: 9500,
      DUNLIN_TRUSTED_PROXIES: null,
      DUNLIN_LOG_LEVEL: "debug",
      DUNLIN_DECISION_DAYS: 500,
      DUNLIN_OIDC_NAME: "on",
    },
    nodeSelector: { "kubernetes.io/arch": "arm64" },
    tolerations: [{ key: "payments", operator: "Equal", value: "yes", effect: "NoSchedule", tolerationSeconds: 60 }],
    roles: { api: { replicas: 3, resources: { requests: { cpu: 2, memory: "1.5Gi" } } } },
  },
};

/** Values that the schema allows, but that contradict each other: each with a word of the complaint. */
export const CONTRADICTIONS: readonly (readonly [values: Values, complaint: string])[] = [
  [{ existingSecret: "dunlin-vault", secret: SECRET }, "Set one of them"],
  [{ settings: { DUNLIN_METRICS_PORT: 8443 } }, "DUNLIN_METRICS_PORT must not be 8443"],
  [{ settings: { DUNLIN_METRICS_PORT: "8443" } }, "DUNLIN_METRICS_PORT must not be 8443"],
  [{ roles: { api: { replicas: 9 } } }, "roles.api.autoscaling.maxReplicas is below roles.api.replicas"],
  [{ roles: { console: { replicas: 1 } } }, "roles.console.budget.minAvailable must be below"],
  [{ ingress: { enabled: true }, settings: { DUNLIN_TLS: "on" } }, 'DUNLIN_TLS must be "proxy"'],
  [
    { ingress: { enabled: true }, settings: { DUNLIN_AUTH_URL: "https://dunlin.example.com" } },
    "different hosts in settings.DUNLIN_BASE_URL",
  ],
];

/** Values that the schema refuses, each with the complaint of ajv. */
export const WRONG_VALUES: readonly (readonly [Values, RegExp])[] = [
  [{ replicas: 2 }, /additional properties.*"replicas"/],
  [{ settings: { DUNLIN_PROT: "1" } }, /settings must NOT have additional properties.*DUNLIN_PROT/],
  [{ settings: { DUNLIN_SECRET_KEY: "x" } }, /settings must NOT.*DUNLIN_SECRET_KEY/],
  [{ settings: { DUNLIN_TLS: true } }, /settings\.DUNLIN_TLS must be equal to one of the allowed values/],
  [{ settings: { DUNLIN_TLS: null } }, /settings must have required property 'DUNLIN_TLS'/],
  [{ settings: { DUNLIN_BASE_URL: "http://dunlin.example.com" } }, /settings\.DUNLIN_BASE_URL must match pattern/],
  [{ settings: { DUNLIN_METRICS_PORT: 70_000 } }, /settings\.DUNLIN_METRICS_PORT must be <= 65535/],
  [{ settings: { DUNLIN_DECISION_DAYS: 1_000_000 } }, /settings\.DUNLIN_DECISION_DAYS must be <= 999999/],
  [{ secret: { DUNLIN_SECRET_KEY: "x" } }, /secret must have properties.*DATABASE_URL/],
  [{ secret: { DATABASE_URL: "mysql://x" } }, /secret\.DATABASE_URL must match pattern/],
  [{ roles: { api: { replicas: "2" } } }, /roles\.api\.replicas must be integer/],
  [{ roles: { api: { replicas: 0 } } }, /roles\.api\.replicas must be >= 1/],
  [{ roles: { learn: { replicas: 2 } } }, /roles\.learn\.replicas must be <= 1/],
  [{ roles: { learn: { autoscaling: { enabled: true } } } }, /roles\.learn must NOT have additional/],
  [{ roles: { decide: { autoscaling: { cpuPercent: 70 } } } }, /roles\.decide\.autoscaling must NOT have additional/],
  [{ roles: { api: { resources: { limits: { memory: "1 GB" } } } } }, /limits\.memory must match pattern/],
  [{ image: { tag: 0.2 } }, /image\.tag must be string/],
  [{ existingSecret: "My Secret" }, /existingSecret must match pattern/],
  [{ ingress: { enabled: "yes" } }, /ingress\.enabled must be boolean/],
];
