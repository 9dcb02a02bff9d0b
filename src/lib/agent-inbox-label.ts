/** Name of the label that connects an agent's tunnel with its inbox. The value is the host. */
export const agentInboxLabel = "postern-inbox";
