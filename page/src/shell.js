/** Commands for a shell, in which no text can do harm. */

/** A text as one word of a POSIX shell. */
export const quoted = (text) =>
  /^[\w./:=+-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command that gives a model its topics' names. */
export function labelCommand(model, labels) {
  const given = labels.map(([topic, text]) => `--label ${quoted(`${topic}=${text}`)}`);
  const file = model.startsWith("-") ? `./${model}` : model;
  return ["opelda topics", quoted(file), ...given].join(" ");
}
