// Texts in a column of another library, read in place through Arrow's C stream interface.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace opelda::text {

// The three structures of the interface; their layout is fixed by its specification.
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

// All chunks of a column of strings, released by the destructor.
class Column {
public:
    explicit Column(ArrowArrayStream* stream) {
        if (!stream || !stream->release)
            throw std::invalid_argument("The column has been read already; ask for it again.");
        ArrowSchema schema = {};
        if (stream->get_schema(stream, &schema)) throw std::runtime_error(last_error(stream));
        const std::string format = schema.format ? schema.format : "";
        if (schema.release) schema.release(&schema);
        if (format != "vu" && format != "u" && format != "U")
            throw std::invalid_argument("The column must hold strings, not what Arrow calls '" +
                                        format + "'.");
        kind_ = format == "vu" ? Kind::view : format == "u" ? Kind::narrow : Kind::wide;
        for (;;) {
            chunks_.push_back({});
            if (stream->get_next(stream, &chunks_.back())) {
                const std::string message = last_error(stream);
                chunks_.pop_back();
                release();
                throw std::runtime_error(message);
            }
            if (!chunks_.back().release) break;
        }
        chunks_.pop_back();
    }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() { release(); }

    // Call use(text) for every text; a null is empty.
    template <class Use> void each(Use&& use) const {
        for (const ArrowArray& chunk : chunks_) {
            if (!chunk.length) continue;
            const auto* valid =
                chunk.null_count ? static_cast<const uint8_t*>(chunk.buffers[0]) : nullptr;
            for (int64_t i = chunk.offset; i < chunk.offset + chunk.length; ++i)
                use(valid && !(valid[i / 8] >> i % 8 & 1) ? std::string_view() : text(chunk, i));
        }
    }

private:
    enum class Kind { view, narrow, wide };

    static std::string last_error(ArrowArrayStream* stream) {
        const char* message = stream->get_last_error ? stream->get_last_error(stream) : nullptr;
        return message ? message : "The column could not be read.";
    }

    std::string_view text(const ArrowArray& chunk, int64_t i) const {
        if (kind_ == Kind::narrow) return between<int32_t>(chunk, i);
        if (kind_ == Kind::wide) return between<int64_t>(chunk, i);
        // Sixteen bytes: the length, then a text of up to twelve bytes, or its first four bytes, a
        // buffer number and an offset.
        const char* view = static_cast<const char*>(chunk.buffers[1]) + 16 * i;
        uint32_t part[4];
        std::memcpy(part, view, 16);
        if (part[0] <= 12) return {view + 4, part[0]};
        if (part[2] >= chunk.n_buffers - 3)
            throw std::out_of_range("The column is damaged: a text is in no buffer.");
        int64_t size;
        std::memcpy(&size,
                    static_cast<const char*>(chunk.buffers[chunk.n_buffers - 1]) + 8 * part[2], 8);
        if (int64_t(part[3]) + part[0] > size)
            throw std::out_of_range("The column is damaged: a text ends beyond its buffer.");
        return {static_cast<const char*>(chunk.buffers[2 + part[2]]) + part[3], part[0]};
    }

    template <class Offset> static std::string_view between(const ArrowArray& chunk, int64_t i) {
        const auto* offsets = static_cast<const Offset*>(chunk.buffers[1]);
        if (offsets[i] == offsets[i + 1]) return {};
        if (offsets[i] < 0 || offsets[i] > offsets[i + 1])
            throw std::out_of_range("The column is damaged: its offsets fall.");
        return {static_cast<const char*>(chunk.buffers[2]) + offsets[i],
                size_t(offsets[i + 1] - offsets[i])};
    }

    void release() {
        for (ArrowArray& chunk : chunks_)
            if (chunk.release) chunk.release(&chunk);
        chunks_.clear();
    }

    Kind kind_;
    std::vector<ArrowArray> chunks_;
};

}  // namespace opelda::text
