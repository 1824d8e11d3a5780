/** From base64 and gzip to typed arrays: how Python's numbers come into the page. */

const TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int16: Int16Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** The bytes that a base64 text stands for. */
export function bytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
  return found;
}

/** An array of numbers from base64; no text is no number. */
export function numbers(text, type) {
  const data = bytes(text ?? "");
  return new TYPES[type](data.buffer, 0, data.byteLength / TYPES[type].BYTES_PER_ELEMENT);
}

/** Decompress a gzip stream. */
async function unzipped(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/**
 * Read a container: a line of JSON that names the arrays, then the arrays, each at a multiple of
 * eight bytes.
 * @returns {Promise<{header: object, arrays: Object<string, ArrayLike<number>>}>}
 */
export async function unpack(text) {
  const buffer = await unzipped(bytes(text));
  const all = new Uint8Array(buffer);
  let offset = all.indexOf(10) + 1;
  const header = JSON.parse(new TextDecoder().decode(all.subarray(0, offset)));
  const arrays = {};
  for (const [name, type, length] of header.arrays) {
    arrays[name] = new TYPES[type](buffer, offset, length);
    offset += Math.ceil(arrays[name].byteLength / 8) * 8;
  }
  return { header, arrays };
}

/** The texts that were joined by a separator. */
export function texts(data, separator) {
  return data.length ? new TextDecoder().decode(data).split(separator) : [];
}
