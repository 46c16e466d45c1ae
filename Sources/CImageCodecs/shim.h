// The libraries of image formats: libjpeg-turbo (2.1 or later), libpng 1.6, libwebp, giflib 5.1. Only the target
// ImageCleaning uses them, in a process that can do nothing but read its input and write its output.
#ifndef CHIRRUP_CIMAGECODECS_H
#define CHIRRUP_CIMAGECODECS_H
#include <errno.h>
#include <fcntl.h>
#include <gif_lib.h>
#include <png.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <unistd.h>
#include <webp/decode.h>
#include <webp/encode.h>

static inline int chirrup_get_errno(void) { return errno; }

/// A smaller picture of these pixels, as WebP. Returns its bytes, to be freed by WebPFree, or NULL.
static inline uint8_t *chirrup_thumbnail(const uint8_t *pixels, int width, int height, int channels, int to_width,
                                         int to_height, float quality, size_t *count) {
  WebPConfig config;
  WebPPicture picture;
  WebPMemoryWriter writer;
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) return NULL;
  WebPMemoryWriterInit(&writer);
  config.quality = quality;
  picture.use_argb = 1;
  picture.width = width;
  picture.height = height;
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  int is_made = (channels == 4 ? WebPPictureImportRGBA(&picture, pixels, width * 4)
                               : WebPPictureImportRGB(&picture, pixels, width * 3)) &&
                WebPPictureRescale(&picture, to_width, to_height) && WebPEncode(&config, &picture);
  WebPPictureFree(&picture);
  if (!is_made) {
    WebPMemoryWriterClear(&writer);
    return NULL;
  }
  *count = writer.size;
  return writer.mem;
}

/// The image's 8-bit pixels, RGB or RGBA, into `pixels`. Returns 0 on failure; the structure is freed in any case.
static inline int chirrup_png_read(png_image *image, int has_alpha, uint8_t *pixels) {
  image->format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  return png_image_finish_read(image, NULL, pixels, 0, NULL);
}

/// A PNG of these pixels to the file, which stays open. Returns 0 on failure.
static inline int chirrup_png_write(const uint8_t *pixels, uint32_t width, uint32_t height, int has_alpha,
                                    uint8_t *output, size_t *count) {
  png_image image;
  memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  return png_image_write_to_memory(&image, output, count, 0, pixels, 0, NULL);
}

/// The most bytes of such a PNG.
static inline size_t chirrup_png_bytes_max(uint32_t width, uint32_t height, int has_alpha) {
  png_image image;
  memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  return PNG_IMAGE_PNG_SIZE_MAX(image);
}

static inline void chirrup_png_begin(png_image *image) {
  memset(image, 0, sizeof *image);
  image->version = PNG_IMAGE_VERSION;
}
static inline int chirrup_png_has_alpha(const png_image *image) { return (image->format & PNG_FORMAT_FLAG_ALPHA) != 0; }

/// 1: read; 2: animated; 0: unreadable.
static inline int chirrup_webp_look(const uint8_t *bytes, size_t count, int *width, int *height, int *is_lossless,
                                    int *has_alpha) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes, count, &features) != VP8_STATUS_OK) return 0;
  *width = features.width;
  *height = features.height;
  *is_lossless = features.format == 2;
  *has_alpha = features.has_alpha;
  return features.has_animation ? 2 : 1;
}
#endif
