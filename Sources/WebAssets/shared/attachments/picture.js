// Small views of pictures that are not sent yet. They are drawn on a canvas: the policies of
// console and sites may forbid addresses of blobs.

const SIDE = 240; // px of the larger side, twice what is shown

/**
 * @param {Blob} blob
 * @returns {Promise<{width: number, height: number, canvas: HTMLCanvasElement} | null>} null if the
 *   browser cannot draw it
 */
export async function preview(blob) {
  if (!blob.type.startsWith('image/')) return null;
  try {
    const bitmap = await createImageBitmap(blob);
    const { width, height } = bitmap;
    const scale = Math.min(1, SIDE / Math.max(width, height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    bitmap.close();
    return { width, height, canvas };
  } catch { return null; }
}
