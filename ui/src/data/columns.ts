/** Columns of whole numbers as src/sonde/web/columns.py writes them. */

/** Reads the columns of a part one after the other. */
export class Columns {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  /** Numbers from 0 on. */
  unsigned<A extends Numbers>(make: new (length: number) => A): A {
    const column = new make(this.next());
    for (let i = 0; i < column.length; i++) column[i] = this.next();
    return column;
  }

  signed<A extends Numbers>(make: new (length: number) => A): A {
    const column = new make(this.next());
    for (let i = 0; i < column.length; i++) column[i] = unzigzag(this.next());
    return column;
  }

  /** Written as what each value differs from the one before. */
  changes<A extends Numbers>(make: new (length: number) => A): A {
    const column = new make(this.next());
    let value = 0;
    for (let i = 0; i < column.length; i++) {
      value += unzigzag(this.next());
      column[i] = value;
    }
    return column;
  }

  /** Numbers from -1 on, written one higher. */
  orUnknown<A extends Numbers>(make: new (length: number) => A): A {
    const column = new make(this.next());
    for (let i = 0; i < column.length; i++) column[i] = this.next() - 1;
    return column;
  }

  get done(): boolean {
    return this.at === this.bytes.length;
  }

  private next(): number {
    const { bytes } = this;
    let byte = bytes[this.at++];
    if (byte === undefined)
      throw new Error("the data of this file is incomplete");
    if (byte < 128) return byte;
    // Shifts are of 32 bits, and times are longer: so the bits are multiplied into place.
    let value = byte & 127;
    let scale = 128;
    do {
      byte = bytes[this.at++];
      if (byte === undefined)
        throw new Error("the data of this file is incomplete");
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    return value;
  }
}

type Numbers =
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** Undoes the compression of a part. */
export async function inflate(
  data: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const stream = new Blob([data])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
